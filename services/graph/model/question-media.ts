import { isServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { BoundFiles } from '../build/context.ts';
import { kindOf, readMedia, type Media, type MediaKind } from './media.ts';
import type { ModelQuestion } from './model.ts';
import { partsOfResult } from './result-parts.ts';

/** What a model gets of a block: a part, or a text in its place. */
type ShownMedia = { readonly part: MediaPart } | { readonly text: string };

export interface MediaPart extends Pick<Media, 'kind' | 'mediaType' | 'filename'> {
  readonly from: { readonly base64: string } | { readonly url: string };
}

/** Of the blocks of a question that name media, what the model gets of each. */
export type QuestionMedia = ReadonlyMap<object, ShownMedia>;

interface Loading {
  /** The kinds that the model takes; absent: all. */
  readonly takes: readonly MediaKind[] | undefined;
  /** Whether the provider reads the address of a part; absent: it may. */
  readonly isReadable?: (part: MediaPart) => boolean;
  readonly signal: AbortSignal;
}

/**
 * Reads what the blocks of users and of tool results name, newest first: what is too large, what the model does not take and what cannot be read is
 * a short text. Addresses are not read here.
 * @throws the signal's reason, and the error of a store of files that is unavailable.
 */
export async function loadMedia({ messages, files }: ModelQuestion, loading: Loading): Promise<QuestionMedia> {
  const loaded = new Map<object, ShownMedia>();
  const room: Room = { bytes: sizes.questionMedia };
  const blocks = messages.flatMap(({ role, content }): readonly unknown[] => {
    if (role === 'tool') return content.flatMap(({ output }) => partsOfResult(output));
    return role === 'user' ? content : [];
  });
  for (const block of blocks.toReversed()) {
    const media = readMedia(block);
    if (media) loaded.set(block as object, await load(media, { ...loading, files, room }));
  }
  return loaded;
}

interface Room {
  bytes: number;
}

interface LoadingOne extends Loading {
  readonly files: Pick<BoundFiles, 'read'> | undefined;
  readonly room: Room;
}

async function load(media: Media, options: LoadingOne): Promise<ShownMedia> {
  const { kind, from } = media;
  if ('text' in from)
    return Buffer.byteLength(from.text) > sizes.mediaText ? tooLarge(media) : textOf(media, from.text);
  if ('fileId' in from) return loadFile(media, from.fileId, options);
  if (!isTaken(kind, options)) return notTaken(media);
  if ('url' in from) {
    const part = { ...media, from };
    return (options.isReadable?.(part) ?? true) ? { part } : { text: `[${nameOf(media)} at ${from.url}]` };
  }
  return within(media, Math.floor((from.base64.length * 3) / 4), options.room, () =>
    shownBytes(media, Buffer.from(from.base64, 'base64')),
  );
}

async function loadFile(media: Media, fileId: string, options: LoadingOne): Promise<ShownMedia> {
  const { files, signal, room } = options;
  if (!files) return instead(media, 'there are no files here');
  try {
    const { info, bytes } = await files.read(fileId);
    const known: Media = { ...media, mediaType: info.contentType, filename: info.filename };
    const kind = isText(info.contentType) ? media.kind : kindOf(info.contentType);
    const file = { ...known, kind };
    if (!isText(info.contentType) && !isTaken(kind, options)) return notTaken(file);
    return await within(file, info.size, room, async () =>
      shownBytes(file, await bytes({ maxBytes: sizes.mediaPart })),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (isServiceError(error, 'Unavailable')) throw error;
    return instead(media, 'its file cannot be read');
  }
}

const isTaken = (kind: MediaKind, { takes }: Loading): boolean => takes?.includes(kind) ?? true;

async function within(
  media: Media,
  bytes: number,
  room: Room,
  show: () => ShownMedia | Promise<ShownMedia>,
): Promise<ShownMedia> {
  if (bytes > (isText(media.mediaType) ? sizes.mediaText : sizes.mediaPart)) return tooLarge(media);
  if (bytes > room.bytes) return instead(media, 'newer ones take all the room that a question has');
  room.bytes -= bytes;
  return show();
}

function shownBytes(media: Media, bytes: Uint8Array): ShownMedia {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isText(media.mediaType)) return textOf(media, buffer.toString());
  const { kind, mediaType, filename } = media;
  return { part: { kind, mediaType, filename, from: { base64: buffer.toString('base64') } } };
}

const isText = (mediaType = ''): boolean =>
  mediaType.startsWith('text/') || /^application\/(json|xml|yaml|x-yaml|x-ndjson)\b/.test(mediaType);

const nameOf = ({ kind, filename }: Media): string =>
  filename === undefined ? kind : `${kind} ${JSON.stringify(filename.slice(0, 255))}`;

const textOf = (media: Media, text: string): ShownMedia => ({ text: `[${nameOf(media)}]\n${text}\n` });

const instead = (media: Media, why: string): ShownMedia => ({ text: `[${nameOf(media)}: ${why}]` });

const notTaken = (media: Media): ShownMedia => instead(media, 'this model takes none');

const tooLarge = (media: Media): ShownMedia => instead(media, 'it is too large for a question');
