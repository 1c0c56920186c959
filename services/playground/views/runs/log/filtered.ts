import type { EventKind } from '@agent-workflow/client';
import { isObject, type ListedEvent, type RunLog } from './run-log.ts';

/** What events belong to: a step, a node of it, and a branch of that. */
export interface EventPlace {
  readonly step: number;
  readonly node?: string;
  readonly branch?: number;
}

/** Which events of a run are shown. */
export interface EventFilter {
  /** Empty: of every kind. */
  readonly kind: EventKind | '';
  /** A text that the JSON of an event contains, whatever its case; empty: any. */
  readonly text: string;
  /** What an event belongs to; absent: any. */
  readonly place?: EventPlace;
}

export const noFilter: EventFilter = { kind: '', text: '' };

/** The events that pass a filter. Asked again, it reads only what has come since. */
interface Filtered {
  readonly read: (log: RunLog, filter: EventFilter) => readonly ListedEvent[];
}

export function createFiltered(): Filtered {
  let passed: ListedEvent[] = [];
  let from: { readonly filter: EventFilter; readonly generation: number } | undefined;
  let next = 0;
  return {
    read: (log, filter) => {
      if (from?.filter !== filter || from.generation !== log.generation) {
        [from, passed, next] = [{ filter, generation: log.generation }, [], 0];
      }
      const text = filter.text.toLowerCase();
      for (; next < log.events.length; next++) {
        const item = log.events[next];
        if (item && passes(item, filter, text)) passed.push(item);
      }
      return passed;
    },
  };
}

function passes(item: ListedEvent, { kind, place }: EventFilter, text: string): boolean {
  if (kind !== '' && item.event.event !== kind) return false;
  if (place !== undefined && !belongsTo(item, place)) return false;
  return text === '' || textOf(item).includes(text);
}

/** An event of a step in which several nodes ran may name the step alone: it belongs to each of them. What names no branch belongs to none. */
function belongsTo({ event: { metadata, data } }: ListedEvent, { step, node, branch }: EventPlace): boolean {
  if (metadata['step'] !== step) return false;
  if (node !== undefined && metadata['node'] !== undefined && metadata['node'] !== node) return false;
  return branch === undefined || (isObject(data) && data['branch'] === branch);
}

/** The texts are kept: each letter that is typed searches all of them. */
const texts = new WeakMap<ListedEvent, string>();

function textOf(item: ListedEvent): string {
  const before = texts.get(item);
  if (before !== undefined) return before;
  const { data, message, metadata } = item.event;
  const source = isObject(metadata) ? metadata['node'] : undefined;
  const text = JSON.stringify([item.event.event, source, data, message]).toLowerCase();
  texts.set(item, text);
  return text;
}
