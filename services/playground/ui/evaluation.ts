interface EvaluationOptions {
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Evaluates a JavaScript expression in a worker that reaches neither the page nor the network.
 * @returns its value, as JSON has it
 * @throws Error that the expression threw; that it is none; that its time is over. The signal's reason.
 */
export async function evaluate(expression: string, { timeoutMs, signal }: EvaluationOptions): Promise<unknown> {
  const worker = new Worker(`${import.meta.env.BASE_URL}expression-worker.js`);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const leave = (): void => reject(signal?.reason as Error);
  const timer = setTimeout(
    () => reject(new Error(`the expression took more than ${String(timeoutMs)} ms and was ended`)),
    timeoutMs,
  );
  signal?.addEventListener('abort', leave);
  worker.onmessage = ({ data }: MessageEvent<{ readonly json?: string; readonly error?: string }>) => {
    if (data.error !== undefined) reject(new Error(data.error));
    else resolve(data.json === undefined ? null : (JSON.parse(data.json) as unknown));
  };
  worker.onerror = (event) => reject(new Error(event.message || 'the worker could not be started'));
  worker.postMessage(expression);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
    worker.terminate();
  }
}
