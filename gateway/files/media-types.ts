/** So many bytes at the start of a file show its type: no signature that is known lies after them. */
export const sniffedBytes = 4100;

/** The media type that the first bytes of a file show; `undefined` when they show none, as those of text. */
export async function sniffType(start: Uint8Array): Promise<string | undefined> {
  // Loaded with the first file: most processes never see one, and it is 37 files.
  const { fileTypeFromBuffer } = await import('file-type');
  const shown = (await fileTypeFromBuffer(start))?.mime;
  return shown !== undefined && isText(start) && !textual.has(kindOf(shown)) ? undefined : shown;
}

/** Kinds whose files may begin with text. Others have bytes that no text has, so that a text which begins as they do is none of them. */
const textual: ReadonlySet<Kind> = new Set(['text', 'pdf']);

/** Whether bytes are text in UTF-8 without control characters; a character that is cut off at their end does not count. */
function isText(bytes: Uint8Array): boolean {
  if (bytes.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d))
    return false;
  return !new TextDecoder().decode(bytes, { stream: true }).includes('\uFFFD');
}

const mediaType = /^[\w!#$&^.+'*-]{1,63}\/[\w!#$&^.+'*-]{1,63}$/;

/** A declared type without its parameters, in lower case; `undefined` when none is declared, or only that it is bytes. */
export function toMediaType(declared: string | undefined): string | undefined {
  const type = (declared ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return mediaType.test(type) && type !== generic ? type : undefined;
}

const generic = 'application/octet-stream';

/** Types whose files begin with a signature that is always recognised. */
const signed: ReadonlySet<string> = new Set([
  ...['image/png', 'image/jpeg', 'image/jpg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/tiff'],
  ...['application/pdf', 'application/zip', 'application/gzip'],
  ...['video/mp4', 'video/webm', 'audio/wav', 'audio/x-wav', 'audio/flac'],
]);

/**
 * Whether the bytes belie the declared type: they are of another kind, or show nothing where the type would show. A type that the
 * bytes only make more precise, or another image than was declared, stands: the type that they show is the one that is used.
 */
export function belies(declared: string, sniffed: string | undefined): boolean {
  if (sniffed === undefined) return signed.has(declared);
  const kinds = [kindOf(declared), kindOf(sniffed)];
  // Documents of many programs are XML or RTF under a name of their own.
  const isDocument = !signed.has(declared) && kinds[0] === 'other' && kinds[1] === 'text';
  return kinds[0] !== kinds[1] && !isDocument;
}

type Kind = 'image' | 'media' | 'text' | 'pdf' | 'other';

/** A container, as MP4, Ogg or WebM, is audio or video by what is in it. SVG is text: nothing distinguishes it from other XML. */
function kindOf(type: string): Kind {
  const special = specialKinds[type];
  if (special) return special;
  if (type.endsWith('+xml')) return 'text';
  switch (type.slice(0, type.indexOf('/'))) {
    case 'image':
      return 'image';
    case 'audio':
    case 'video':
      return 'media';
    case 'text':
      return 'text';
    default:
      return 'other';
  }
}

const specialKinds: Readonly<Record<string, Kind>> = {
  'application/pdf': 'pdf',
  'application/xml': 'text',
  'application/rtf': 'text',
  'application/ogg': 'media',
  'application/mp4': 'media',
};

/** What browsers show without running anything of the file. SVG and HTML run scripts, PDF may. */
const shown: ReadonlySet<string> = new Set([
  ...['image/png', 'image/apng', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'],
]);

/** How a file is sent. */
interface SentAs {
  readonly contentType: string;
  /** Shown in the page rather than saved. */
  readonly isInline: boolean;
}

/**
 * Only a type that the bytes showed is shown inline. A type that browsers would run as a page or script is sent as bytes,
 * whatever was declared.
 */
export function toSentAs({ contentType, sniffedType }: TypesOfFile): SentAs {
  const type = sniffedType ?? contentType ?? generic;
  const isInline = sniffedType !== undefined && (shown.has(sniffedType) || kindOf(sniffedType) === 'media');
  return { contentType: isActive(type) ? generic : type, isInline };
}

/** The type of a file as it is listed: what its bytes show, else what was declared. */
export const typeOf = ({ contentType, sniffedType }: TypesOfFile): string => sniffedType ?? contentType ?? generic;

interface TypesOfFile {
  readonly contentType?: string;
  readonly sniffedType?: string;
}

function isActive(type: string): boolean {
  const subtype = type.slice(type.indexOf('/') + 1);
  return /^(html|xml|xhtml|svg|xsl|javascript|ecmascript)$|\+xml$|javascript|ecmascript|mhtml|multipart|x-mixed/.test(
    subtype,
  );
}
