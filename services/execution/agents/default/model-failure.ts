const byStatus: Readonly<Record<number, string>> = {
  400: 'the model refused the request (400)',
  401: 'the model refused the key (401): check OPENAI_API_KEY',
  403: 'the key may not use the model (403): check OPENAI_API_KEY and MODEL',
  404: 'the model is not there (404): check MODEL and OPENAI_BASE_URL',
  413: 'the conversation is too large for the model (413)',
  429: 'the model is busy or its quota is used up (429): try again later',
};

/**
 * The error that the caller of a run may see: what went wrong with the model and what to check, without the key, the
 * address, or what the other side wrote.
 */
export async function explainFailure(error: unknown, { timedOut }: { readonly timedOut: boolean }): Promise<Error> {
  const { APIConnectionError, APIError } = await import('openai');
  if (timedOut) return new Error('the model took too long to answer');
  if (error instanceof APIConnectionError) return new Error('the model cannot be reached: check OPENAI_BASE_URL');
  const status: unknown = error instanceof APIError ? error.status : undefined;
  if (typeof status !== 'number') return new Error('the model broke off its answer');
  return new Error(byStatus[status] ?? `the model failed (${String(status)})`);
}
