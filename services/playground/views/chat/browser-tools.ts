import type { RemoteTool } from '@agent-workflow/client';
import { evaluate } from '../../ui/evaluation.ts';

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
    run: ({ expression }, signal) =>
      typeof expression === 'string'
        ? evaluate(expression, { timeoutMs: expressionMs, signal })
        : Promise.reject(new TypeError('`expression` must be a text')),
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
