import protobuf from 'protobufjs';
import type { Rpc } from './definitions.ts';

/**
 * The most fields of one request with those of the messages in it, where each entry of a list is one. Many times what a step of a thread has
 * whose context is as large as it may be.
 */
const maxFields = 300_000;

/** The wire type of what has its length in front. */
const delimited = 2;

/**
 * What refuses a request with very many fields: an entry of two bytes becomes an object of a hundred, and that takes time before anything of
 * it can be checked. Only lengths are read here, of the request and of what is directly in it.
 * @throws RangeError
 */
export function createFieldCount({ requestType }: Pick<Rpc, 'requestType'>): (bytes: Uint8Array) => void {
  const { field: fields } = requestType.type as { readonly field: readonly DescribedField[] };
  const messages = new Set(fields.flatMap(({ number, type }) => (type === 'TYPE_MESSAGE' ? [number] : [])));
  return (bytes) => {
    const reader = protobuf.Reader.create(bytes);
    let left = maxFields;
    const countTo = (end: number, inner: ReadonlySet<number> | undefined): void => {
      while (reader.pos < end) {
        if (left-- === 0) throw new RangeError(`more than ${String(maxFields)} fields`);
        const key = reader.uint32();
        if (inner?.has(key >>> 3) && (key & 7) === delimited) countTo(reader.uint32() + reader.pos, undefined);
        else reader.skipType(key & 7);
      }
    };
    countTo(reader.len, messages);
  };
}

interface DescribedField {
  readonly number: number;
  readonly type: string;
}
