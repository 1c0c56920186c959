/** Why something failed, in one line for an operator: the message of an error and that of its cause, without stacks. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return firstLine(String(error));
  const own = firstLine(error.message);
  const why = error.cause instanceof Error ? firstLine(error.cause.message) : '';
  // What a service has sent is also the text of the error that gRPC makes of it.
  return why === '' || why.endsWith(own) ? own : `${own}: ${why}`;
}

const firstLine = (text: string): string => text.split('\n', 1).join('');
