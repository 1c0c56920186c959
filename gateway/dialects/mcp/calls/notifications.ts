import { jsonText } from '../../../http/json.ts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { fieldsOf, textIn, type Fields } from '../wire/fields.ts';

/** A message to the client, before it is JSON. */
type Notification = Fields;

interface ProgressOptions {
  readonly progressToken: unknown;
  /** The least level of log messages; `undefined`: none. */
  readonly logLevel: string | undefined;
}

/** Levels of log messages, the least first. */
export const logLevels: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** What the nodes of a run report while it goes on, as notifications: progress that only grows, and log messages. */
export function createNotifications({ progressToken, logLevel }: ProgressOptions): (event: RunEvent) => Notification[] {
  const isToken = typeof progressToken === 'string' || typeof progressToken === 'number';
  let last = -Infinity;
  let steps = 0;
  const progress = (value: number, more: Fields): Notification[] => {
    if (!isToken || !(value > last)) return [];
    last = value;
    return [notification('notifications/progress', { progressToken, progress: value, ...more })];
  };
  return ({ kind, data }) => {
    if (kind !== 'on_chain_stream') return [];
    const { node, status, custom } = JSON.parse(jsonText(data)) as Fields;
    if (status === 'completed') {
      steps += 1;
      return progress(steps, { message: String(node) });
    }
    if (status !== 'progress') return [];
    const own = fieldsOf(custom);
    const { progress: done, total, message } = own;
    if (own['name'] === 'log') return logged(fieldsOf(own['payload']), { logLevel, node });
    if (typeof done !== 'number') return [];
    return progress(done, {
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  };
}

function logged(
  { level, logger, data }: Fields,
  { logLevel, node }: { readonly logLevel: string | undefined; readonly node: unknown },
): Notification[] {
  const rank = logLevels.indexOf(textIn(level) ?? 'info');
  if (logLevel === undefined || rank === -1 || rank < logLevels.indexOf(logLevel)) return [];
  const params = { level: logLevels[rank], logger: textIn(logger) ?? String(node), data: data ?? null };
  return [notification('notifications/message', params)];
}

const notification = (method: string, params: Fields): Notification => ({ jsonrpc: '2.0', method, params });
