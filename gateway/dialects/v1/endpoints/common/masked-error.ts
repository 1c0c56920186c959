/** Of why something failed, what is no word of who threw it: such words often quote contents. */
export function withMaskedError(shown: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const error = shown['error'] as Readonly<Record<string, unknown>> | undefined;
  if (!error) return shown;
  const { code, node, reason } = error;
  return { ...shown, error: { code, message: null, node, reason } };
}
