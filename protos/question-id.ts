const ofService = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\/\d{1,10}\//;
const ofLangGraph = /^[\da-f]{32}$/;

/** Whether a text has the form of a question's id: it begins with its run and step, or is that of a graph of LangGraph.js, 32 hexadecimal digits. */
export const namesQuestion = (id: string): boolean => ofService.test(id) || ofLangGraph.test(id);
