import type { RunEvent } from '@agent-workflow/protos/execution';
import { textOf, type Block, type Message } from '@agent-workflow/protos/message';
import type { TaskPart } from '@agent-workflow/protos/task-status';
import { jsonText } from '../../../http/json.ts';
import type { AddressOf } from '../../common/file-addresses.ts';
import { toPart, toParts } from '../messages/to-parts.ts';

/** A part of an artifact, as it comes. Defaults are left out. */
export interface ArtifactUpdate {
  readonly artifact: {
    readonly artifactId: string;
    readonly parts: readonly TaskPart[];
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly append?: true;
  readonly lastChunk?: true;
}

interface Growing {
  readonly node: string | undefined;
  /** Characters of text that its reader has. */
  text: number;
  /** Whether all that came is text. */
  isPlain: boolean;
}

/** Characters of one part: clients bound an event to 4 MiB. */
const partLength = 512 * 1024;

/** Makes the artifacts of a run of its messages: text as it comes, the rest of a message when it is whole. It remembers ids and lengths, and no text. */
export function createArtifactUpdates(addressOf: AddressOf) {
  const growing = new Map<string, Growing>();
  /** Artifacts that have come whole. */
  let count = 0;

  const chunk = ({ messageId, node, data }: RunEvent): readonly ArtifactUpdate[] => {
    if (messageId === undefined) return [];
    const given = JSON.parse(jsonText(data)) as string | Block;
    const parts = typeof given === 'string' ? textParts(given) : toPart(given, addressOf);
    if (parts.length === 0) return [];
    const known = growing.get(messageId);
    const open = known ?? { node, text: 0, isPlain: true };
    growing.set(messageId, open);
    for (const part of parts) {
      if (isPlain(part)) open.text += part.text.length;
      else open.isPlain = false;
    }
    return updates(messageId, parts, { isFirst: !known, isLast: false });
  };

  const whole = (message: Message): readonly ArtifactUpdate[] => {
    const { message_id: id } = message;
    const open = growing.get(id);
    growing.delete(id);
    const parts = message.role === 'assistant' ? toParts(message, addressOf) : [];
    if (parts.length === 0) return open ? [withdrawn(id)] : [];
    count += 1;
    const grows = open?.isPlain === true && parts.every(isPlain);
    if (!open || !grows) return updates(id, split(parts), { isFirst: true, isLast: true });
    const rest = textOf(message).slice(open.text);
    return updates(id, rest === '' ? [{ text: '' }] : split([{ text: rest }]), { isFirst: false, isLast: true });
  };

  return {
    /** Of a chunk, or of a message that is complete. */
    of: (event: RunEvent): readonly ArtifactUpdate[] => {
      if (event.message) return whole(JSON.parse(jsonText(event.message)) as Message);
      return event.role === 'assistant' ? chunk(event) : [];
    },
    /** What came counts no longer that was not whole: of a node that begins again, or of all. */
    withdraw: (node?: string): readonly ArtifactUpdate[] => {
      const left = [...growing].filter(([, open]) => node === undefined || open.node === node);
      return left.map(([id]) => {
        growing.delete(id);
        return withdrawn(id);
      });
    },
    count: () => count,
  };
}

const isPlain = (part: TaskPart): part is { readonly text: string } =>
  part.text !== undefined && Object.keys(part).length === 1;

const textParts = (text: string): readonly TaskPart[] => (text === '' ? [] : [{ text }]);

/** Long texts in parts, none of which begins in the middle of a character. */
const split = (parts: readonly TaskPart[]): readonly TaskPart[] =>
  parts.flatMap((part) => {
    if (!isPlain(part) || part.text.length <= partLength) return [part];
    const cuts: TaskPart[] = [];
    for (let start = 0; start < part.text.length;) {
      const end = start + partLength;
      const isHalf = part.text.codePointAt(end - 1) !== part.text.charCodeAt(end - 1);
      cuts.push({ text: part.text.slice(start, isHalf ? end - 1 : end) });
      start = isHalf ? end - 1 : end;
    }
    return cuts;
  });

/** One update for each part: one event must not become too long. */
const updates = (
  artifactId: string,
  parts: readonly TaskPart[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): readonly ArtifactUpdate[] =>
  parts.map((part, index) => ({
    artifact: { artifactId, parts: [part] },
    ...(!(isFirst && index === 0) && { append: true as const }),
    ...(isLast && index === parts.length - 1 && { lastChunk: true as const }),
  }));

/** An artifact cannot be taken back: it becomes empty, and says why. */
const withdrawn = (artifactId: string): ArtifactUpdate => ({
  artifact: { artifactId, parts: [{ text: '' }], metadata: { withdrawn: true } },
  lastChunk: true,
});
