// The line that says what is going on, and what went wrong.

import { Refused, useKey } from "./api.js";
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

// Give `start` the key that a user writes; Enter gives it too, instead of asking without it.
export function takeKey(start) {
  const use = () => { useKey($("key-value").value); start(); };
  $("key-save").addEventListener("click", use);
  $("key-value").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); use(); } });
}
