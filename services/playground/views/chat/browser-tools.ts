import type { RemoteTool } from '@agent-workflow/client';

/** A tool that this browser runs, when the reader lets it. */
interface BrowserTool extends RemoteTool {
  /** What it lets the agent do, for the reader. */
  readonly label: string;
}

/** How long an expression may take, in milliseconds. */
const expressionMs = 2000;
/** How long the browser may look for its place, and the reader think about it, in milliseconds. */
const placeMs = 60_000;

const noArguments = { type: 'object', properties: {} };

/** The tools of the browser. Nothing of them is declared until the reader switches it on. */
export const browserTools: readonly BrowserTool[] = [
  {
    name: 'browser_clock',
    label: 'Clock: the time and the time zone here',
    description: "The date, the time and the time zone of the user's browser.",
    parameters: noArguments,
    run: () => readClock(new Date()),
  },
  {
    name: 'browser_location',
    label: 'Location: where this device is; the browser asks you first',
    description: "Where the user's device is: latitude, longitude and accuracy in metres.",
    parameters: noArguments,
    run: (_, signal) => readPlace(signal),
  },
  {
    name: 'browser_javascript',
    label: 'JavaScript: evaluates an expression in a worker without access to this page',
    description: `The value of a JavaScript expression, as JSON. It may take ${String(expressionMs)} ms; there is no page and no network.`,
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string', description: 'One expression, such as 6 * 7' } },
      required: ['expression'],
    },
    run: ({ expression }, signal) => evaluate(expression, signal),
  },
];

/** The time of the browser, in its zone. */
function readClock(now: Date): Readonly<Record<string, unknown>> {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return {
    iso: now.toISOString(),
    local: now.toString(),
    time_zone: timeZone,
    offset_minutes: -now.getTimezoneOffset(),
  };
}

function readPlace(signal?: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy } }) => resolve({ latitude, longitude, accuracy_metres: accuracy }),
      ({ message }) => reject(new Error(`the browser does not tell its place: ${message}`)),
      { timeout: placeMs, maximumAge: placeMs },
    );
  });
}

/** @throws Error that the expression threw; that it is none; that its time is over. The signal's reason. */
function evaluate(expression: unknown, signal?: AbortSignal): Promise<unknown> {
  if (typeof expression !== 'string') return Promise.reject(new TypeError('`expression` must be a text'));
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
      () => end(() => reject(new Error(`the expression took more than ${String(expressionMs)} ms and was ended`))),
      expressionMs,
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
