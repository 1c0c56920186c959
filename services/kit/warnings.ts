import { channel } from 'node:diagnostics_channel';

/** One for all copies of this module in a process: an agent may bring its own. */
const warnings = channel('agent-workflow.warning');

/** Warns those who load an agent of what was left out of it. Where nobody does, as in a test of its author, Node prints it. */
export function warn(text: string): void {
  if (warnings.hasSubscribers) warnings.publish(text);
  else process.emitWarning(text);
}

/** Calls `onWarning` with each warning until it is disposed of. */
export function followWarnings(onWarning: (text: string) => void): Disposable {
  const follow = (text: unknown): void => onWarning(String(text));
  warnings.subscribe(follow);
  return { [Symbol.dispose]: () => warnings.unsubscribe(follow) };
}
