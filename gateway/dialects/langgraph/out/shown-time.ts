/** A time in milliseconds since 1970 as LangGraph's clients read it. */
export const shownTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00');
