"""The report: one value with everything a reader wants to see of a trained model, and pages that show it."""

PUBLIC = {  # what other packages may use, by module
    "assemble": "make_report report_of_run",
    "drawing": "Place picture_graph picture_structure",
    "explanation_page": "RECORDS explain explanation_records write_explanations",
    "figure_style": "figure_png in_style",
    "gallery": "gallery_figures write_gallery",
    "inline": "inline_svg",
    "layout": "place_rows",
    "mask_page": "PAGE strongest write_generated write_masks written",
    "molecule": "draw_rows",
    "page": "write_report",
    "palette": "SOFT THEME hue",
    "record": "Report",
}
