import type { EventKind } from '@agent-workflow/client';
import { isObject, type ListedEvent, type RunLog, type Visit } from './run-log.ts';

/** Which events of a run are shown. */
export interface EventFilter {
  /** Empty: of every kind. */
  readonly kind: EventKind | '';
  /** A text that the JSON of an event contains, whatever its case; empty: any. */
  readonly text: string;
  /** The node and step that an event belongs to; absent: any. */
  readonly visit?: Pick<Visit, 'step' | 'node'>;
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

function passes(item: ListedEvent, { kind, visit }: EventFilter, text: string): boolean {
  if (kind !== '' && item.event.event !== kind) return false;
  if (visit !== undefined && !belongsTo(item, visit)) return false;
  return text === '' || textOf(item).includes(text);
}

/** An event of a step in which several nodes ran may name the step alone: it belongs to each of them. */
function belongsTo({ event: { metadata } }: ListedEvent, { step, node }: Pick<Visit, 'step' | 'node'>): boolean {
  return metadata['step'] === step && (metadata['node'] === undefined || metadata['node'] === node);
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
