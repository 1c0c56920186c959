export { fromLangGraph, type LangGraphOptions } from './from-lang-graph.ts';
