/** The fields of the result of a run, without the messages. */
export function shownState(state: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { context: _context, context_summary: _summary, ...fields } = state;
  return fields;
}
