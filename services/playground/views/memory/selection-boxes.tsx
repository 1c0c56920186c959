import { Box } from './box.tsx';
import { memoryTypes, namesOf } from './memory-shapes.ts';
import type { Faults, SelectionBoxes } from './selection.ts';

interface SelectionFieldsProps {
  readonly boxes: SelectionBoxes;
  readonly faults: Faults;
  readonly onText: (name: string, text: string) => void;
}

const types = { '': 'every type', ...Object.fromEntries(namesOf(memoryTypes).map((name) => [name, name])) };

/** The boxes that narrow a list or a search. */
export function SelectionFields({ boxes, faults, onText }: SelectionFieldsProps) {
  return (
    <>
      <Box label="Type" name="memory_type" value={boxes.memory_type} onText={onText} options={types} />
      <Box label="Category" name="category" value={boxes.category} onText={onText} input={{ maxLength: 256 }} />
      <Box label="Thread" name="thread_id" value={boxes.thread_id} onText={onText} />
      <Box
        label="Filters"
        name="filters"
        value={boxes.filters}
        onText={onText}
        fault={faults['filters']}
        isWide
        input={{ placeholder: '{"year": {"$gte": 2020}}', class: 'code' }}
      />
    </>
  );
}
