// Drawing a molecule instead of writing it: the editor of OpenChemLib, fetched from beside this page when it is wanted.

let editor = null;

export async function openSketcher(place, smiles, changed) {
  const { CanvasEditor, Molecule } = await import("./vendor/openchemlib.js");
  if (editor === null) {
    editor = new CanvasEditor(place, { initialMode: "molecule" });
    editor.setOnChangeListener(({ type, isUserEvent }) => {
      if (type === "molecule" && isUserEvent) changed(editor.getMolecule().toIsomericSmiles());
    });
  }
  try {
    editor.setMolecule(smiles ? Molecule.fromSmiles(smiles) : new Molecule(0, 0));
  } catch {
    editor.clearAll(); // what cannot be read cannot be drawn
  }
}
