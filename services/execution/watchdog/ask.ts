import { Session, type Debugger } from 'node:inspector';
import { originSymbol, type CodeOrigin } from './origin.ts';

/** What the main thread is at. */
export interface Answer extends CodeOrigin {
  /** Where it stands: its innermost calls, as `name (file:line)`. */
  readonly stack: readonly string[];
}

const originExpression = `globalThis[Symbol.for('${originSymbol}')]()`;

/** How long the main thread has to answer, in milliseconds: in native code it does not. */
const answerMs = 5000;
const namedCalls = 5;

/**
 * Asks the main thread, as a debugger would, what it is at: it is paused wherever in JavaScript it is, and stays so. Gives
 * `undefined` when it is in native code, a synchronous call of another program say, and cannot be paused.
 */
export async function askMainThread(): Promise<Answer | undefined> {
  const session = new Session();
  session.connectToMainThread();
  const urls = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url));
  return new Promise((resolve, reject) => {
    setTimeout(resolve, answerMs, undefined);
    session.once('Debugger.paused', ({ params: { callFrames } }) => {
      const stack = callFrames.slice(0, namedCalls).map((frame) => toText(frame, urls));
      originIn(session, callFrames).then((origin) => resolve({ ...origin, stack }), reject);
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  });
}

/** Each call is asked, outwards, until one can tell: code in a `vm` context has another global object. */
async function originIn(session: Session, frames: readonly Debugger.CallFrame[]): Promise<CodeOrigin> {
  for (const { callFrameId } of frames) {
    const value = await evaluate(session, callFrameId);
    if (typeof value === 'string') return JSON.parse(value) as CodeOrigin;
  }
  return {};
}

const evaluate = async (session: Session, callFrameId: string): Promise<unknown> =>
  new Promise((resolve) => {
    const asked = { callFrameId, expression: originExpression, returnByValue: true };
    session.post('Debugger.evaluateOnCallFrame', asked, (_error, reply) => {
      resolve((reply as Debugger.EvaluateOnCallFrameReturnType | undefined)?.result.value);
    });
  });

const toText = ({ functionName, location }: Debugger.CallFrame, urls: ReadonlyMap<string, string>): string =>
  `${functionName || 'anonymous'} (${urls.get(location.scriptId) ?? ''}:${String(location.lineNumber + 1)})`;
