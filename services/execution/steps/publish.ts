import type { RunEvent } from '@agent-workflow/protos/execution';
import type { AppendOptions } from '../ports/log.ts';
import type { EventWriter } from '../events/event-writer.ts';
import type { DriveOptions } from './drive-options.ts';

/** Appends events that `events` wrote, at least one, after those that it wrote before them. Resolves when followers may see them. */
export const append = (
  { eventLog }: Pick<DriveOptions, 'eventLog'>,
  events: EventWriter,
  list: readonly RunEvent[],
  options?: AppendOptions,
): Promise<void> => eventLog.append(events.scope, (list[0]?.seq ?? Infinity) - 1, list, options);

/** Appends events without waiting for it. */
export function publish(options: Pick<DriveOptions, 'eventLog'>, events: EventWriter, list: readonly RunEvent[]): void {
  if (list.length === 0) return;
  // A log that cannot be written does not delay the run: the append of its last event is awaited and reported.
  append(options, events, list, { isAwaited: false }).catch(() => undefined);
}
