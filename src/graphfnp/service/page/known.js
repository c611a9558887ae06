// Molecules to try.

export const KNOWN = [
  ["aspirin", "CC(=O)Oc1ccccc1C(=O)O"],
  ["caffeine", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"],
  ["diazepam", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21"],
  ["dopamine", "NCCc1ccc(O)c(O)c1"],
  ["4-nitroaniline", "Nc1ccc(cc1)[N+](=O)[O-]"],
  ["glucose", "OCC1OC(O)C(O)C(O)C1O"],
];
