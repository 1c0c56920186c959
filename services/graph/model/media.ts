export type MediaKind = 'image' | 'audio' | 'video' | 'document';

/** What a block names that is no text: where its bytes are, and what is known of it. */
export interface Media {
  readonly kind: MediaKind;
  /** Absent: nobody said. */
  readonly mediaType?: string | undefined;
  readonly filename?: string | undefined;
  readonly from: MediaPlace;
}

type MediaPlace =
  /** A file of the owner. */
  | { readonly fileId: string }
  | { readonly base64: string }
  /** An address that the provider of the model reads. */
  | { readonly url: string }
  | { readonly text: string };

type Given = Readonly<Record<string, unknown>>;

/** The types of blocks that libraries and protocols have for media; `undefined`: the media type shows the kind. */
const kinds: Readonly<Record<string, MediaKind | undefined>> = {
  ...{ image: 'image', image_url: 'image', input_image: 'image', 'image-url': 'image' },
  ...{ audio: 'audio', audio_url: 'audio', input_audio: 'audio', 'audio-url': 'audio' },
  ...{ video: 'video', video_url: 'video', input_video: 'video', 'video-url': 'video' },
  ...{ document: 'document', 'document-url': 'document' },
  ...{ file: undefined, input_file: undefined, binary: undefined, media: undefined, resource: undefined },
};

/** Members of a block that hold what another library has in the block itself. */
const holders = ['image_url', 'audio_url', 'video_url', 'input_audio', 'source', 'file', 'resource', 'image', 'data'];

/**
 * Reads a block that names an image, a sound, a film or a document, as this service, OpenAI, Anthropic, the AI SDK, LangChain, MCP and AG-UI
 * write it; `undefined` for any other. The id of a file is the service's own where it stands in the block itself: one of a provider leads nowhere.
 */
export function readMedia(block: unknown): Media | undefined {
  if (!isObject(block) || typeof block['type'] !== 'string' || !Object.hasOwn(kinds, block['type'])) return undefined;
  const inner = holders.map((name) => block[name]).find(isObject) ?? {};
  const mediaType = textIn(block, mediaTypeNames) ?? textIn(inner, mediaTypeNames) ?? formatOf(inner);
  const from = placeOf(block, inner, mediaType);
  if (!from) return undefined;
  const known = 'data' in from ? (from.mediaType ?? mediaType) : mediaType;
  return {
    kind: kinds[block['type']] ?? kindOf(known),
    mediaType: known,
    filename: textIn(block, filenames) ?? textIn(inner, filenames),
    from: 'data' in from ? from.data : from,
  };
}

/** By the media type; what is unknown is a document. */
export function kindOf(mediaType: string | undefined): MediaKind {
  const [top] = mediaType?.split('/') ?? [];
  return top === 'image' || top === 'audio' || top === 'video' ? top : 'document';
}

const mediaTypeNames = ['media_type', 'mediaType', 'mime_type', 'mimeType'];
const filenames = ['filename', 'fileName', 'name', 'title', 'uri'];
const urls = ['url', 'image_url', 'audio_url', 'video_url', 'file_url', 'fileUri', 'uri'];
const contents = ['data', 'image', 'file_data', 'blob', 'base64', 'value'];

function placeOf(
  block: Given,
  inner: Given,
  mediaType: string | undefined,
): MediaPlace | { readonly data: MediaPlace; readonly mediaType: string | undefined } | undefined {
  const fileId = textIn(block, ['file_id']);
  if (fileId !== undefined) return { fileId };
  const isText = block['type'] === 'document' && inner['type'] === 'text';
  const text =
    textIn(inner, isText ? ['data', 'text'] : ['text']) ?? (isDocument(block) ? textIn(block, ['text']) : undefined);
  if (text !== undefined) return { text };
  const data = textIn(inner, contents) ?? textIn(block, contents) ?? textIn(inner, urls) ?? textIn(block, urls);
  if (data === undefined || data === '') return undefined;
  if (data.startsWith('data:')) return readDataUrl(data);
  if (isAddress(data)) return URL.canParse(data) ? { url: data } : undefined;
  // What stands where an address should, and is none, is nothing that a provider could read.
  const isData = textIn(inner, contents) === data || textIn(block, contents) === data;
  return isData && mediaType !== 'text/uri-list' ? { base64: data } : undefined;
}

const isDocument = ({ type }: Given): boolean => type === 'document' || type === 'file';

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text);

/** `data:image/png;base64,…`; one that is not base64 holds a text. */
function readDataUrl(url: string): { readonly data: MediaPlace; readonly mediaType: string | undefined } | undefined {
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const [mediaType = '', ...others] = url.slice('data:'.length, comma).split(';');
  const body = url.slice(comma + 1);
  const named = mediaType === '' ? undefined : mediaType;
  if (others.includes('base64')) return { data: { base64: body }, mediaType: named };
  const text = decoded(body);
  return text === undefined ? undefined : { data: { text }, mediaType: named };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** `input_audio` of OpenAI names a format in place of a media type. */
const formatOf = ({ format }: Given): string | undefined =>
  typeof format === 'string' ? `audio/${format}` : undefined;

const isObject = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textIn(given: Given, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = given[name];
    if (typeof value === 'string') return value;
  }
  return undefined;
}
