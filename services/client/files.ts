import { isPage, toForeign } from './errors.ts';
import { readFile, request, send, type Connection, type RequestOptions } from './request.ts';
import type { FileInfo, FilesQuery, FileUrl, MultimodalConfig, UploadedFile } from './shapes/files.ts';
import type { Paged } from './shapes/lists.ts';

export function filesOf(connection: Connection) {
  const at = (fileId: string, rest = '') => ({ path: `/v1/files/{fileId}${rest}`, ids: { fileId } });
  return {
    /**
     * Stores a file; blocks of messages name it by its `file_id`. A `Blob` without a name is called `file`. When the reply is lost the file
     * is sent again, and the one that nobody knows of is removed by the service in time.
     * @throws TypeError, before anything is sent, for what is no `Blob` and has none as `data`.
     */
    upload: async (file: Blob | NamedBlob, { signal }: Pick<RequestOptions, 'signal'> = {}): Promise<UploadedFile> => {
      const { data, filename } = toNamedBlob(file);
      const form = new FormData();
      form.append('file', data, filename);
      return request(connection, { method: 'POST', path: '/v1/files/upload', form, signal, head: 'late' });
    },
    /**
     * The bytes, from the position `start` on: 0 unless given.
     * @throws RangeError for a `start` that is no whole number from 0 on.
     */
    get: async (
      fileId: string,
      { start = 0, ...options }: Pick<RequestOptions, 'signal'> & { readonly start?: number } = {},
    ): Promise<Blob> => {
      if (!Number.isSafeInteger(start) || start < 0)
        throw new RangeError(`start must be a whole number from 0 on, and is ${String(start)}`);
      const headers = start === 0 ? undefined : { range: `bytes=${String(start)}-` };
      return send(connection, { method: 'GET', ...at(fileId), headers, ...options }, (response) => {
        if (start > 0 && response.status !== 206)
          throw toForeign(response, 'it has not only the part of the file that was asked for');
        if (isPage(response)) throw toForeign(response, 'it is a page');
        return readFile(response, { ...options, connection });
      });
    },
    /** The stored files that pass every filter given, newest first. A page may have fewer files than `limit`, or none, and still a `cursor`: go on with it. */
    list: (
      query: FilesQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly files: readonly FileInfo[] }> =>
      request(connection, { method: 'GET', path: '/v1/files', query, ...options }),
    info: (fileId: string, options: RequestOptions = {}): Promise<FileInfo> =>
      request(connection, { method: 'GET', ...at(fileId, '/info'), ...options }),
    /** An address at which anybody reads the file for ten minutes, as an `<img>` does. */
    url: async (fileId: string, options: RequestOptions = {}): Promise<FileUrl> => {
      const reply = await request<FileUrl>(connection, { method: 'GET', ...at(fileId, '/url'), ...options });
      return { ...reply, url: connection.url + reply.url };
    },
    delete: (fileId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(fileId), ...options }),
    /** What files the service takes. */
    multimodal: (options: RequestOptions = {}): Promise<MultimodalConfig> =>
      request(connection, { method: 'GET', path: '/v1/config/multimodal', ...options }),
  };
}

export interface NamedBlob {
  readonly data: Blob;
  readonly filename: string;
}

function toNamedBlob(file: unknown): NamedBlob {
  if (file instanceof Blob) return { data: file, filename: 'name' in file ? String(file.name) : 'file' };
  const { data, filename = 'file' } = Object(file) as Partial<NamedBlob>;
  if (data instanceof Blob) return { data, filename };
  throw new TypeError('a file must be a Blob, or { data, filename } with a Blob as data');
}
