// The line that says what is going on, and what went wrong.

import { Refused } from "./api.js";
import { $ } from "./dom.js";
import { Unreadable } from "./rows.js";

export function say(text, tone = "") {
  $("status").className = `status ${tone}`;
  $("status").textContent = text;
}

export function trouble(error) {
  if (error instanceof Refused && error.status === 401) {
    $("key").hidden = false;
    $("key-value").focus();
  }
  if (!(error instanceof Refused) && !(error instanceof Unreadable)) console.error(error);
  say(error.message, "bad");
  $("status").scrollIntoView({ block: "nearest" }); // a row may have been opened far below
}
