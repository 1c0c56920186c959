import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { storeFile } from '../../../files/index.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { Services } from '../../common/services.ts';
import { isBase64 } from '../messages/base64.ts';
import type { Part } from '../schemas/messages.ts';

/** A part whose bytes are stored as a file. */
interface StoredPart extends Part {
  readonly fileId?: string;
}

/**
 * Stores the bytes of parts as files of the caller, whom their messages name. Where the service stores none, and in a message that is sent again, parts
 * stay as they are.
 * @throws Invalid for what is no base64, and for a file that its bytes belie; TooLarge
 */
export async function storeParts(
  { owner, newId, call }: Pick<EndpointRequest, 'owner' | 'newId' | 'call'>,
  parts: readonly Part[],
  at: Loc,
  { files, threads, log }: Pick<Services, 'files' | 'threads' | 'log'>,
): Promise<readonly StoredPart[]> {
  for (const [index, { raw }] of parts.entries())
    if (raw !== undefined && !isBase64(raw)) throw invalidAt([...at, index, 'raw'], 'must be base64');
  const isStored = files.kind !== 'none' && parts.some(({ raw }) => raw !== undefined);
  if (!isStored || (await undefinedIfNotFound(threads.getRun({ owner, runId: newId('run') }, call())))) return parts;
  const stored: StoredPart[] = [];
  for (const [index, part] of parts.entries()) {
    const { raw, filename, mediaType = '' } = part;
    if (raw === undefined) {
      stored.push(part);
      continue;
    }
    const key = { owner, fileId: newId(`file ${String(index)}`) };
    const bytes = Buffer.from(raw, 'base64');
    const file = {
      filename,
      contentType: mediaType === '' ? undefined : mediaType,
      isUntyped: mediaType === '',
      mostBytes: bytes.byteLength,
      bytes: inOne(bytes),
      signal: call().signal,
    };
    const { fileId } = await storeFile({ key, file, call }, { threads, files, log });
    stored.push({ ...part, fileId });
  }
  return stored;
}

async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
