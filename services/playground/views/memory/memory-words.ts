import type { Memory } from '@agent-workflow/client';
import { counted } from '../../ui/format.ts';

/** A longer text is no title. */
const maxTitle = 90;

/** What a memory is called: its text, or the beginning of it up to the end of a line or a word. */
export function titleOfMemory({ content }: Pick<Memory, 'content'>): string {
  const text = content.trim();
  const [line = ''] = text.slice(0, maxTitle + 1).split('\n', 1);
  if (line.length === text.length && text.length <= maxTitle) return text;
  if (line.length <= maxTitle) return `${line.trimEnd()} …`;
  const space = line.lastIndexOf(' ');
  return `${line.slice(0, space > maxTitle / 2 ? space : maxTitle).toWellFormed()} …`;
}

/** A text of one line and of no more characters stands as a heading in whole. */
const maxHeading = 240;

/** Whether all that a memory holds can stand in its heading. */
export function isHeading({ content }: Pick<Memory, 'content'>): boolean {
  const text = content.trim();
  return text.length <= maxHeading && !text.includes('\n');
}

/** `1 memory`, `3 memories`. */
export const memoriesText = (count: number): string => counted(count, 'memory', 'memories');
