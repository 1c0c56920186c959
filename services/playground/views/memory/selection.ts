import type { MemorySelection, MemoryType } from '@agent-workflow/client';
import { readObjectIfAny } from '../../ui/boxes.ts';
import { counted } from '../../ui/format.ts';
import { memoryTypes, namesOf } from './memory-shapes.ts';

/** The boxes that narrow a list or a search, as they stand in the form. */
export interface SelectionBoxes {
  readonly memory_type: string;
  readonly category: string;
  readonly thread_id: string;
  readonly filters: string;
}

export const noSelection: SelectionBoxes = { memory_type: '', category: '', thread_id: '', filters: '' };

/** What is wrong with boxes, by their names. */
export type Faults = Readonly<Record<string, string>>;

/** The conditions that the boxes name; an empty box is none. */
export function readSelection(
  boxes: SelectionBoxes,
): { readonly value: MemorySelection } | { readonly faults: Faults } {
  const filters = readObjectIfAny('Filters', boxes.filters);
  if ('fault' in filters) return { faults: { filters: filters.fault } };
  const type = namesOf(memoryTypes).find((known): known is MemoryType => known === boxes.memory_type);
  const thread = boxes.thread_id.trim();
  const { value } = filters;
  return {
    value: {
      ...(type && { memory_type: type }),
      ...(boxes.category !== '' && { category: boxes.category }),
      ...(value && Object.keys(value).length > 0 && { filters: value }),
      ...(thread !== '' && { config: { thread_id: thread } }),
    },
  };
}

/** The conditions in words: `type semantic, category places`. */
export function selectionText({ memory_type: type, category, filters, config }: MemorySelection): string {
  const conditions = [
    type && `type ${type}`,
    category !== undefined && `category ${category}`,
    config && `thread ${String(config['thread_id'])}`,
    filters && `metadata ${JSON.stringify(filters)}`,
  ];
  return conditions.filter(Boolean).join(', ');
}

/** The body that forgets what is selected; without a condition it names all. */
export const toForget = (selection: MemorySelection): MemorySelection =>
  Object.keys(selection).length === 0 ? { options: { all: true } } : selection;

/** `1 memory`, `3 memories`. */
export const memoriesText = (count: number): string => counted(count, 'memory', 'memories');
