"""The page in real Chromium: a good molecule, a bad one, a file of both, the gallery, the keyboard, a phone."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

import graphfnp

pytestmark = pytest.mark.browser

PATIENCE = 180_000  # milliseconds: the machine may be busy
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Without its sandbox, because tests in containers run as root; the page is our own.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, server) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    troubles: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address)
    expect(page.locator("#examples button").first).to_be_visible()
    yield page
    outside = [url for url in asked if not url.startswith((server.address, "blob:", "data:"))]
    context.close()
    assert not outside, "the page asked for something from outside"
    assert not troubles, troubles


def ask(page: Page, text: str) -> None:
    page.fill("#rows", text)
    page.click("#go")


def test_a_good_molecule_is_drawn_and_explained(page: Page) -> None:
    ask(page, f"{ASPIRIN} aspirin")
    answer = page.locator(".answer")
    expect(answer.locator("h2")).to_contain_text("%")
    expect(answer.locator(".main-drawing svg")).to_be_visible()
    expect(answer.get_by_role("img", name="nine tenths of the draws")).to_be_visible()
    expect(answer).to_contain_text("Of a hundred inputs with this probability")
    expect(answer).to_contain_text("At the 90 % level")
    expect(answer).to_contain_text("of the training data are from the rest")
    expect(answer.locator(".why").first.locator(".link")).to_have_count(3)
    expect(answer.locator(".near svg")).to_have_count(3)
    expect(answer).to_contain_text("was in the training data")  # aspirin is among the training data
    box = answer.locator(".main-drawing svg path").first.bounding_box()
    assert box is not None


def test_a_bad_molecule_is_told_why(page: Page) -> None:
    ask(page, "C1CC")
    answer = page.locator(".answer.failed")
    expect(answer.locator("h2")).to_have_text("No prediction")
    expect(answer).to_contain_text("unclosed ring")
    expect(answer).to_contain_text("Check brackets")
    ask(page, "C" * 450)
    expect(answer).to_contain_text("takes at most 400")
    expect(answer).not_to_contain_text("Check brackets")  # nothing is wrong with them


def test_an_empty_question_says_what_to_do(page: Page) -> None:
    page.click("#go")
    expect(page.locator("#status")).to_contain_text("Write at least one SMILES")


def test_text_of_a_user_never_becomes_markup(page: Page) -> None:
    hostile = "C<img/src=x/onerror=document.title='taken'>"
    ask(page, f"{hostile}\nCCO <b>bold</b>")
    expect(page.locator("#table tbody tr")).to_have_count(2)
    expect(page.locator("#table strong")).to_have_text("<b>bold</b>")
    assert page.locator("#table img, #table b:not([style])").count() == 0
    assert page.title() != "taken"


def file_of(rows: list[tuple[str, str]]) -> dict:
    text = io.StringIO()
    csv.writer(text).writerows([("name", "Canonical SMILES"), *rows])
    return {"name": "molecules.csv", "mimeType": "text/csv", "buffer": text.getvalue().encode()}


ROWS = [
    ("aspirin", ASPIRIN),
    ("broken, with a comma", "C1CC"),
    ("caffeine", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"),
    ("empty", ""),
    ("diazepam", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21"),
]


def test_a_molecule_that_no_rationale_reaches_is_not_known_and_has_no_marks(page: Page) -> None:
    ask(page, "NC(=O)NO hydroxyurea")
    answer = page.locator(".answer")
    expect(answer.locator("h2")).to_contain_text("Not known")
    expect(answer).to_contain_text("little more than the label mix")
    expect(answer.locator(".main-drawing figcaption")).not_to_contain_text("Marked")


def test_a_file_of_good_and_bad_rows_becomes_a_table_that_sorts_opens_and_saves(page: Page, tmp_path: Path) -> None:
    page.set_input_files("#file", files=[file_of(ROWS)])
    lines = page.locator("#table tbody tr")
    expect(lines).to_have_count(5)
    assert lines.locator("td:nth-child(1)").all_inner_texts() == ["0", "1", "2", "3", "4"], "as predict counts rows"
    expect(lines.nth(1)).to_contain_text("unclosed ring")
    expect(lines.nth(3)).to_contain_text("no SMILES given")
    expect(page.locator("#status")).to_contain_text("2 of 5 rows have no prediction")

    page.get_by_role("button", name="Probability").click()
    expect(page.locator("#table th[aria-sort=descending]")).to_contain_text("Probability")
    shares = [float(text.split()[0]) for text in lines.locator("td:nth-child(4)").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    expect(lines.nth(3)).to_contain_text("No prediction")  # rows without numbers stay at the end

    page.get_by_role("button", name="aspirin").last.click()
    expect(page.locator(".answer .kicker")).to_have_text("aspirin")

    with page.expect_download() as saving:
        page.click("#save-csv")
    saving.value.save_as(tmp_path / "saved.csv")
    saved = list(csv.DictReader((tmp_path / "saved.csv").open(newline="")))
    assert [row["name"] for row in saved] == [name for name, _ in ROWS]
    assert [row["status"] for row in saved] == ["ok", "failed", "ok", "failed", "ok"]
    with page.expect_download() as saving:
        page.click("#save-json")
    saving.value.save_as(tmp_path / "saved.json")
    assert [row["input"] for row in json.loads((tmp_path / "saved.json").read_text())] == [row for _, row in ROWS]


def test_a_saved_name_is_no_formula_to_a_spreadsheet(page: Page, tmp_path: Path) -> None:
    names = ["=1+1", "+cmd|x", "-2+3", "@x", "-2.5e3", "plain"]
    page.set_input_files("#file", files=[file_of([(name, "CCO") for name in names])])
    expect(page.locator("#table tbody tr")).to_have_count(len(names))
    with page.expect_download() as saving:
        page.click("#save-csv")
    saving.value.save_as(tmp_path / "saved.csv")
    saved = [row["name"] for row in csv.DictReader((tmp_path / "saved.csv").open(newline=""))]
    assert saved == ["'=1+1", "'+cmd|x", "'-2+3", "'@x", "-2.5e3", "plain"]


def test_a_file_can_be_dropped(page: Page) -> None:
    handle = page.evaluate_handle(
        """() => { const held = new DataTransfer();
        held.items.add(new File(["CCO ethanol\\nC1CC broken\\n"], "two.smi", { type: "text/plain" })); return held; }"""
    )
    page.dispatch_event("body", "drop", {"dataTransfer": handle})
    expect(page.locator("#table tbody tr")).to_have_count(2)
    expect(page.locator("#table")).to_contain_text("ethanol")


def test_the_gallery_shows_every_rationale_with_its_evidence(page: Page) -> None:
    expect(page.locator("#gallery .group")).to_have_count(2)
    tiles = page.locator("#gallery .tile")
    expect(tiles).to_have_count(10)
    expect(page.locator("#gallery .tile svg")).to_have_count(10)
    tiles.first.locator("summary").click()
    expect(tiles.first).to_contain_text("Correlates with")
    expect(tiles.nth(8).locator("dl")).to_contain_text("link precision, test37 %")  # of training graphs it is 100 %


def test_a_molecule_can_be_drawn_in_place_of_the_first_and_the_others_stay(page: Page) -> None:
    page.fill("#rows", "c1ccccc1 benzene\nCCO ethanol")
    page.click("#sketch")
    expect(page.locator("#sketcher canvas, #sketcher > *").first).to_be_attached()
    page.wait_for_timeout(500)
    place = page.locator("#sketcher").bounding_box()
    assert place is not None
    start = place["x"] + place["width"] * 0.3, place["y"] + 60
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 40, start[1] + 20, steps=4)
    page.mouse.up()
    expect(page.locator("#rows")).to_have_value(re.compile(r"^(CC\.c\S*|c\S*\.CC)\nCCO ethanol$"))
    page.click("#go")
    expect(page.locator("#table tbody tr")).to_have_count(2)


def test_everything_can_be_done_with_the_keyboard(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.focus("#rows")
    page.keyboard.type("CCO ethanol\nCCN ethylamine")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#many-title")).to_be_focused()
    page.locator(".row-name").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".row-name").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".answer .kicker")).to_have_text("ethylamine")
    expect(page.locator(".answer h2")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(browser: Browser, server, scheme) -> None:
    context = browser.new_context(viewport={"width": 375, "height": 740}, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.address)
    expect(page.locator("#examples button").first).to_be_visible()
    ask(page, ASPIRIN)
    expect(page.locator(".answer .main-drawing svg")).to_be_visible()
    expect(page.locator("#gallery .tile svg")).to_have_count(10)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in ground[4:-1].split(",")) > 384) == (scheme == "light")
    context.close()


def test_a_name_without_blanks_fits_a_phone(browser: Browser, server) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(server.address)
    ask(page, f"{ASPIRIN} {'name' * 40}")
    expect(page.locator(".answer .main-drawing svg")).to_be_visible()
    edges = "(inside) => [...document.querySelectorAll(inside)].map((one) => one.getBoundingClientRect().right)"
    assert max(page.evaluate(edges, ".answer *:not(svg *)")) <= max(page.evaluate(edges, ".answer"))
    assert max(page.evaluate(edges, "#mix-choice")) < max(page.evaluate(edges, "#form"))
    page.close()


def test_what_was_asked_last_is_shown_though_an_older_answer_comes_later(page: Page) -> None:
    held: list[Route] = []
    page.route("**/explain", lambda route: route.continue_() if held else held.append(route))
    ask(page, "CCO older")
    expect(page.locator("#status")).to_have_text("Asking")
    page.wait_for_timeout(200)
    page.fill("#rows", "CCN newer")
    page.press("#rows", "Control+Enter")
    expect(page.locator(".answer .kicker")).to_have_text("newer")
    with page.expect_response("**/explain"):
        held[0].continue_()
    page.wait_for_timeout(500)
    expect(page.locator(".answer .kicker")).to_have_text("newer")


def test_a_question_before_the_key_asks_for_it_and_is_answered_with_it(browser: Browser, start_server) -> None:
    guarded = start_server("--api-key", "secret")
    page = browser.new_page(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(guarded.address)
    ask(page, "CCO")
    expect(page.locator("#status")).to_contain_text("asks for its key")
    page.fill("#key-value", "secret")
    page.press("#key-value", "Enter")
    expect(page.locator("#examples button").first).to_be_visible()
    page.click("#go")
    expect(page.locator(".answer h2")).to_contain_text("permeable")
    page.get_by_role("link", name="the model card").click()
    card = page.locator("#GET-model")
    expect(card).to_be_in_viewport()
    card.get_by_role("button", name="Send").click()
    expect(card.locator("[aria-live] pre")).to_contain_text('"service"')
    card.get_by_text("With curl").click()
    expect(card).to_contain_text('-H "X-API-Key: $GRAPHFNP_API_KEY"')
    page.close()
    assert guarded.stop() == 0


def test_trouble_with_a_row_far_below_is_seen(browser: Browser, server) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 500}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(server.address)
    ask(page, "\n".join("C" * k + "O" for k in range(1, 26)))
    expect(page.locator("#table tbody tr")).to_have_count(25)
    page.route("**/explain", lambda route: route.fulfill(status=503, json={"detail": "it took too long"}))
    page.locator("#table .row-name").last.click()
    expect(page.locator("#status")).to_have_text("it took too long")
    expect(page.locator("#status")).to_be_in_viewport()
    page.close()


def test_graphs_are_asked_about_in_their_own_words(browser: Browser, start_server) -> None:
    motifs = start_server(model="ba2motifs")
    page = browser.new_page(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(motifs.address)
    expect(page.locator("#gallery .tile svg").first).to_be_visible()
    expect(page.locator("#wavy")).to_be_hidden()  # it tells of molecules
    for text, odd in (("null", 0), ('"CCO"', 0), ('[{"num_nodes": 1}, 5]', 1), ('{"graphs": 3}', 0)):
        ask(page, text)
        expect(page.locator("#status")).to_contain_text(f"Graph {odd} is not written as")
    ask(page, '{"num_nodes": 3, "edges": [[0, 9]]}')
    expect(page.locator(".answer")).to_contain_text("two different nodes below 3")
    expect(page.locator(".answer")).not_to_contain_text("valences")
    page.locator("#examples button").first.click()
    expect(page.locator(".answer h2")).to_contain_text("cycle")
    why = "nothing to draw: reading it takes more than 4 s of processor time"
    page.route("**/draw", lambda route: route.fulfill(status=422, json={"detail": why}))
    ask(page, '{"num_nodes": 3, "edges": [[0, 1], [1, 2]]}')
    expect(page.locator(".main-drawing .drawing")).to_have_text(why)
    page.route("**/model", lambda route: route.fulfill(json={**route.fetch().json(), "examples": []}))
    page.reload()
    expect(page.locator("#gallery .tile svg").first).to_be_visible()
    expect(page.locator("#examples")).to_be_hidden()
    page.close()
    assert motifs.stop() == 0


def test_a_probability_near_one_never_means_all(page: Page) -> None:
    page.route("**/explain", lambda route: route.fulfill(json=changed(route.fetch().json())))

    def changed(answer: dict) -> dict:
        answer["records"][0].update(probability=0.9996)
        return answer

    ask(page, "CCO")
    expect(page.locator(".answer .big")).to_have_text("> 99.9 %")
    expect(page.locator(".answer")).to_contain_text("Of a thousand inputs with this probability, about 999 should be")
    expect(page.locator(".answer")).to_contain_text("and 1 should not")


def test_the_error_on_held_out_molecules_is_that_at_the_mix_assumed(page: Page) -> None:
    page.route("**/explain", lambda route: route.fulfill(json=changed(route.fetch().json())))

    def changed(answer: dict) -> dict:
        answer["records"][0]["calibration"].update(graphs=204, ece=0.29, ece_at_mix=0.13)
        return answer

    ask(page, "CCO")
    expect(page.locator(".answer")).to_contain_text(
        "On 204 held-out inputs, weighted to the assumed label mix, such probabilities were off by 13 points on average"
    )


def test_the_page_of_the_interface_shows_routes_and_sends_examples(page: Page, server) -> None:
    page.goto(f"{server.address}/docs")
    expect(page.locator("#contents a")).to_contain_text(["POST /predict", "POST /explain", "GET /model"])
    predict = page.locator("#POST-predict")
    predict.get_by_role("button", name="Send").click()
    expect(predict.locator("[aria-live] pre")).to_contain_text('"p(permeable)"')
    page.locator("#POST-draw").get_by_role("button", name="Send").click()
    expect(page.locator("#POST-draw .answer-picture svg")).to_be_visible()
    predict.get_by_role("link", name="Answer").click()
    expect(page.locator("#type-Answer")).to_contain_text("records")


def test_another_mix_moves_the_answers_and_is_named_beside_them(page: Page) -> None:
    ask(page, f"{ASPIRIN} aspirin")
    big = page.locator(".answer .big")
    usual = big.text_content()
    expect(page.locator("#mix-hint")).to_contain_text(re.compile(r"non-permeable \d+\s%, permeable \d+\s%"))
    page.select_option("#mix-choice", "own")
    page.click("#go")
    expect(page.locator("#status")).to_contain_text("Write your mix, such as permeable=0.2")
    page.fill("#mix-own", "permeable=0.05")
    page.click("#go")
    expect(page.locator(".answer")).to_contain_text("For a mix of non-permeable 95 %, permeable 5 %.")
    assert big.text_content() != usual
    page.select_option("#mix-choice", "estimate")
    ask(page, "\n".join("C" * k + "O" for k in range(1, 26)))
    expect(page.locator("#many-lead")).to_contain_text("for a mix of")
    page.locator("#table .row-name").first.click()
    expect(page.locator(".answer")).to_contain_text("For a mix of")


def test_blank_lines_of_a_file_keep_their_place_and_long_names_stay_in_their_column(page: Page) -> None:
    text = "\ufeffCompound ID;Structure\nA;CCO\n\n;\nTerbutylchlorambucil and a long name after it;CCN\n\n\n"
    page.set_input_files("#file", files=[{"name": "in.csv", "mimeType": "text/csv", "buffer": text.encode()}])
    lines = page.locator("#table tbody tr")
    expect(lines).to_have_count(4)
    assert lines.locator("td:nth-child(1)").all_inner_texts() == ["0", "1", "2", "3"]
    expect(lines.nth(3)).to_contain_text("Terbutylchlorambucil")
    name, chip = (lines.nth(3).locator(one).bounding_box() for one in ("strong", ".chip"))
    assert name["x"] + name["width"] <= chip["x"]


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "stray.csv": 'smiles,name\nCCO,"a\nCCN,"b"\n',  # a quote that nobody closes costs no row
        "declared.csv": "sep=;\r\nsmiles;name\r\nCCO;a\r\nCCN;b\r\n",
        "quoted.csv": '"one, two, three, four";smiles;name\n1;CCO;a\n2;CCN;b\n',
        "old.csv": "smiles,name\rCCO,a\rCCN,b\r",
        "table.txt": "smiles,name\nCCO,a\nCCN,b\n",
        "list.smi": "SMILES name\nCCO a\nCCN b\n",
    }.items(),
)
def test_a_file_has_the_rows_that_predict_finds_in_it(page: Page, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, newline="")
    page.set_input_files("#file", tmp_path / name)
    lines = page.locator("#table tbody tr")
    expect(lines).to_have_count(2)
    assert lines.locator("td:nth-child(1)").all_inner_texts() == ["0", "1"]
    assert lines.locator(".row-name").all_inner_texts() == ["a\nCCO", "b\nCCN"]


def test_a_file_that_is_no_text_is_refused_and_not_asked_about(page: Page) -> None:
    page.set_input_files(
        "#file", files=[{"name": "in.xlsx", "mimeType": "application/zip", "buffer": b"PK\3\4\0\0\nCCO"}]
    )
    expect(page.locator("#status")).to_contain_text("in.xlsx is neither a CSV nor a list of SMILES")


def test_rows_to_test_next_are_picked_in_their_order_and_all_rows_come_back(page: Page) -> None:
    ask(page, "\n".join(["CCO", "C1CC", ASPIRIN, *("C" * n + "N" for n in range(2, 9))]))
    rows = page.locator("#table tbody tr")
    expect(rows).to_have_count(10)
    page.fill("#pick-count", "3")
    page.select_option("#pick-find", "non-permeable")
    page.get_by_role("button", name="Pick", exact=True).click()
    expect(rows).to_have_count(3)
    expect(page.locator("#many-lead")).to_contain_text(
        "3 of 10 rows, the most useful first: those that may be non-permeable"
    )
    expect(rows.first).to_contain_text(ASPIRIN)  # of these the likeliest not to cross
    expect(page.locator("#pick-count")).to_have_attribute("max", "9")  # one could not be read
    page.get_by_role("button", name="All rows").click()
    expect(rows).to_have_count(10)


def test_more_rows_than_can_be_picked_from_say_so(page: Page) -> None:
    for count, is_told in ((512, False), (513, True)):
        ask(page, "\n".join(["CCO"] * count))
        lead = page.locator("#many-lead")
        expect(lead).to_contain_text(f"{count} rows")
        expect(page.locator("#picking")).to_be_visible(visible=not is_told)
        assert ("for up to 512 rows; graphfnp predict --pick takes any number" in lead.inner_text()) == is_told


def test_more_than_two_classes_have_a_bar_each_and_long_names_stay_inside(
    browser: Browser, start_server, tmp_path: Path
) -> None:
    names = ["low", "medium", "a_class_whose_name_has_no_blank_in_it_at_all"]
    smiles = [f"{'C' * (1 + n // 3)}{'ONS'[n % 3]}" for n in range(60)]
    model = graphfnp.GraphFNPClassifier(method="vanilla", width=8, epochs=1)
    model.fit(smiles, [names[n % 3] for n in range(60)]).save(tmp_path / "three")
    three = start_server(model=str(tmp_path / "three"))
    page = browser.new_page(viewport={"width": 360, "height": 740}, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(three.address)
    expect(page.locator("#card")).to_contain_text("the data given to fit")
    expect(page.locator("#promise")).not_to_contain_text("rationales")  # it has no rationales
    expect(page.locator("#card")).not_to_contain_text("–")  # what is not known is not there
    ask(page, "CCO")
    expect(page.locator(".answer .bars .bar")).to_have_count(3)
    expect(page.locator(".answer .bars")).to_contain_text(names[2])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()
    assert three.stop() == 0


def test_features_stand_behind_the_smiles_or_in_columns(browser: Browser, start_server, tmp_path: Path) -> None:
    lines = [f"{'C' * (1 + n // 3)}{'ONS'[n % 3]},{n + 1},{n % 2}" for n in range(60)]
    (tmp_path / "doses.csv").write_text("\n".join(["smiles,dose,label", *lines]) + "\n")
    data = graphfnp.load(tmp_path / "doses.csv", features="dose")
    classifier = graphfnp.make_classifier("vanilla", data.graphs.schema, {"backbone.width": 8})
    graphfnp.train(classifier, data.graphs, data.graphs, graphfnp.TrainingConfig(epochs=1)).model.save(tmp_path / "run")
    running = start_server(model=str(tmp_path / "run"))
    try:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto(running.address)
        expect(page.locator("#model-name")).to_contain_text("run")
        ask(page, "CCO dose=2.5 ethanol")
        expect(page.locator(".answer h2")).to_contain_text("%")
        expect(page.locator(".answer")).to_contain_text("ethanol")
        ask(page, "CCO ethanol pH=7")
        expect(page.locator(".answer.failed")).to_contain_text("no value of 'dose'")
        expect(page.locator(".answer .kicker")).to_have_text("ethanol pH=7")  # no feature of this model
        table = "smiles,dose\nCCO,2.5\nCCO,\nCCO,high\n"
        page.set_input_files("#file", {"name": "in.csv", "mimeType": "text/csv", "buffer": table.encode()})
        expect(page.locator("#many-lead")).to_contain_text("3 rows; 2 without a prediction")
    finally:
        running.stop()


def test_a_click_on_any_cell_opens_the_row_and_marks_it(page: Page) -> None:
    ask(page, "CCO ethanol\nCCN ethylamine\nC1CC broken")
    rows = page.locator("#table tbody tr")
    rows.nth(1).locator("td").nth(3).click()
    expect(page.locator(".answer .kicker")).to_have_text("ethylamine")
    expect(page.locator("#table tr[aria-current=true]")).to_contain_text("ethylamine")
    rows.nth(2).locator("td").last.click()
    expect(page.locator(".answer.failed .kicker")).to_have_text("broken")
    expect(page.locator("#table tr[aria-current=true]")).to_have_count(1)


def test_a_link_to_a_rationale_leads_to_it(page: Page, server) -> None:
    page.goto(f"{server.address}/docs")  # the same page with another anchor would not be loaded anew
    page.goto(f"{server.address}/#rationale-7")
    expect(page.locator("#rationale-7:target")).to_be_in_viewport()


def test_many_rows_are_asked_about_in_requests_that_the_service_takes(browser: Browser, start_server) -> None:
    small = start_server("--max-rows", "30", "--max-bytes", "1500")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(small.address)
    ask(page, "\n".join(["CCO"] * 70 + ["C" * 60] * 30))
    expect(page.locator("#table tbody tr")).to_have_count(100)
    expect(page.locator("#many-lead")).to_contain_text("test next is told here for up to 30 rows")
    page.close()
    assert small.stop() == 0


def test_rows_that_were_answered_are_shown_though_the_service_goes_away(browser: Browser, server) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.address)
    page.route("**/predict", lambda route: route.continue_() if not answered else route.abort())
    answered: list[str] = []
    page.on("response", lambda response: answered.append(response.url) if "predict" in response.url else None)
    ask(page, "\n".join(["CCO"] * 500))
    expect(page.locator("#status")).to_contain_text("The table has the first 200 of 500 rows.")
    expect(page.locator("#table tbody tr")).to_have_count(200)
    page.close()
