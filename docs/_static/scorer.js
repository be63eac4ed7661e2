/* What search puts first: as Sphinx does, with pages of research below all others. */
var Scorer = {
  score: (result) => {
    const [docname, , , , score] = result;
    return /^(research|reproduction|changelog|contributing)\b/.test(docname) ? score - 100 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
