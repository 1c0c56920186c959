import { ServiceError, unavailable, type ErrorCode } from '@agent-workflow/kit/errors';
import {
  runFilesPath,
  type RunClaim,
  type RunFileInfo,
  type RunFiles,
  type RunFileUse,
} from '@agent-workflow/protos/run-files';
import type { ShowUse } from './shown.ts';

interface GatewayRunFilesOptions {
  /** Where the gateway listens: `http://host:port`. */
  readonly url: string;
  /** By what the gateway knows that a request may be made. */
  readonly show: ShowUse;
  /** How long a request without a body may go without an answer, in milliseconds. */
  readonly timeoutMs?: number;
  /**
   * How long the gateway may send nothing of a file, take nothing of one, or not answer once it has all of one, in milliseconds: as
   * long as it waits for us.
   */
  readonly stalledMs?: number;
}

/** The most bytes of a refusal that are read. */
const maxRefusalBytes = 64 * 1024;

/** The files of owners behind a gateway. */
export function createGatewayRunFiles({
  url,
  show,
  timeoutMs = 30_000,
  stalledMs = 60_000,
}: GatewayRunFilesOptions): RunFiles {
  const address = new URL(runFilesPath, url);

  const send = async (claim: RunClaim, use: RunFileUse, options: RequestInit & Sent): Promise<Response> => {
    const headers = await show(claim, use);
    const response = await fetch(address, { ...options, headers, redirect: 'error' }).catch((error: unknown) =>
      refuse(error, options.signal),
    );
    if (response.ok && response.body) return response;
    throw await toRefusal(response);
  };

  const sendForInfo = async (claim: RunClaim, use: RunFileUse, options: RequestInit & Sent): Promise<RunFileInfo> => {
    const response = await send(claim, use, options);
    return (await response.json().catch((error: unknown) => refuse(error, options.signal))) as RunFileInfo;
  };

  return {
    info: (claim, fileId, signal) =>
      sendForInfo(
        claim,
        { use: 'info', fileId },
        { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) },
      ),

    read: async function* (claim, fileId, signal, from = 0) {
      using gateway = watch(signal);
      gateway.expect(timeoutMs);
      const use = { use: 'read' as const, fileId, ...(from > 0 && { from }) };
      const { body } = await send(claim, use, { signal: gateway.signal });
      gateway.expect(stalledMs);
      try {
        for await (const chunk of body ?? []) {
          gateway.rest();
          yield chunk;
          gateway.expect(stalledMs);
        }
      } catch (error) {
        gateway.signal.throwIfAborted();
        throw new ServiceError('StorageFailed', 'the bytes of the file were cut off', { cause: error });
      }
    },

    write: async (claim, { bytes, ...file }, signal) => {
      const source = watched(bytes);
      const use = { use: 'write' as const, ...file };
      using gateway = watch(signal);
      const body = toStream(source.bytes, { gateway, stalledMs });
      try {
        return await sendForInfo(claim, use, { method: 'POST', body, duplex: 'half', signal: gateway.signal });
      } catch (error) {
        // What the node's own stream threw is the node's fault, and not the gateway's.
        throw source.failure()?.error ?? error;
      }
    },
  };
}

/** Waits for the gateway, and not while it is our turn. */
interface Watch extends Disposable {
  /** Fires with the caller's signal, or with Unavailable when the gateway was waited for too long. */
  readonly signal: AbortSignal;
  /** It is the turn of the gateway, for so many milliseconds. */
  readonly expect: (ms: number) => void;
  /** It is our turn. */
  readonly rest: () => void;
}

function watch(signal: AbortSignal): Watch {
  const silent = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const rest = (): void => clearTimeout(timer);
  return {
    signal: AbortSignal.any([signal, silent.signal]),
    rest,
    expect: (ms) => {
      rest();
      // A source may give its next chunk after the request has ended.
      if (isOver) return;
      timer = setTimeout(() => {
        silent.abort(unavailable(`the gateway that has the files was silent for ${String(ms / 1000)} s`));
      }, ms);
    },
    [Symbol.dispose]: () => {
      isOver = true;
      rest();
    },
  };
}

/** Chunks as the body of a request, each taken when the one before is on its way. The gateway is waited for until one is taken. */
function toStream(
  chunks: AsyncIterable<Uint8Array>,
  { gateway, stalledMs }: { readonly gateway: Watch; readonly stalledMs: number },
): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      // A request that has ended reads on without this: `fetch` drops what it gets then.
      if (gateway.signal.aborted) {
        controller.error(gateway.signal.reason);
        await iterator.return?.();
        return;
      }
      gateway.rest();
      const next = await iterator.next();
      gateway.expect(stalledMs);
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async (reason) => {
      await iterator.return?.(reason);
    },
  });
}

interface Sent {
  readonly signal: AbortSignal;
  /** A stream as body needs it; the types of the platform do not have it yet. */
  readonly duplex?: 'half';
}

interface Watched {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** What reading them has thrown. */
  readonly failure: () => { readonly error: unknown } | undefined;
}

function watched(bytes: AsyncIterable<Uint8Array>): Watched {
  let failure: { readonly error: unknown } | undefined;
  async function* passing(): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes;
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  return { bytes: passing(), failure: () => failure };
}

/** A request that failed on the way. @throws the signal's reason when that is why, Unavailable otherwise. */
function refuse(error: unknown, signal: AbortSignal): never {
  if (signal.aborted && !isTimeout(signal.reason)) throw signal.reason;
  if (error instanceof ServiceError) throw error;
  throw unavailable('the gateway that has the files is unavailable', error);
}

const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';

/** What a status of the gateway means for a node. Any other is a fault between the services: the node waits until it is put right. */
const codes: Readonly<Record<number, ErrorCode>> = {
  400: 'BadRequest',
  404: 'NotFound',
  409: 'Stale',
  413: 'TooLarge',
  422: 'Invalid',
  500: 'Internal',
};

async function toRefusal(response: Response): Promise<ServiceError> {
  const refusal = toEnvelope(await startOf(response));
  const code = refusal?.code === storageError ? 'StorageFailed' : codes[response.status];
  const message = refusal?.message ?? `the gateway answered ${String(response.status)}`;
  return code ? new ServiceError(code, message) : unavailable(`the files cannot be reached: ${message}`);
}

async function startOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > maxRefusalBytes) break;
    }
  } catch {
    // The status says enough.
  }
  return Buffer.concat(chunks).toString();
}

/** How the gateway's envelope names a store whose bytes are not those of the record. */
const storageError = 'STORAGE_ERROR';

/** Code and message of the gateway's envelope of an error. */
function toEnvelope(text: string): { readonly code: unknown; readonly message: string } | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly code?: unknown; readonly message?: unknown } };
    return typeof error?.message === 'string' ? { code: error.code, message: error.message } : undefined;
  } catch {
    return undefined;
  }
}
