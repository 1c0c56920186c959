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
export function evaluate(expression: string, { timeoutMs, signal }: EvaluationOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(`${import.meta.env.BASE_URL}expression-worker.js`);
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      worker.terminate();
      settle();
    };
    const leave = (): void => end(() => reject(signal?.reason as Error));
    const timer = setTimeout(
      () => end(() => reject(new Error(`the expression took more than ${String(timeoutMs)} ms and was ended`))),
      timeoutMs,
    );
    signal?.addEventListener('abort', leave, { once: true });
    worker.onmessage = ({ data }: MessageEvent<{ readonly json?: string; readonly error?: string }>) =>
      end(() => {
        if (data.error !== undefined) reject(new Error(data.error));
        else resolve(data.json === undefined ? null : (JSON.parse(data.json) as unknown));
      });
    worker.onerror = (event) => end(() => reject(new Error(event.message || 'the worker could not be started')));
    worker.postMessage(expression);
  });
}
