/** Why something failed, in one line for an operator: the message of an error and that of its cause, without stacks. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return firstLine(String(error));
  const { message, cause } = error;
  return cause instanceof Error ? `${firstLine(message)}: ${firstLine(cause.message)}` : firstLine(message);
}

const firstLine = (text: string): string => text.split('\n', 1).join('');
