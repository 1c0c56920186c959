import { types } from 'pg';
import { fromText, toText } from './texts.ts';

/** A value of a statement. */
export type Param = string | number | boolean | Uint8Array | null | readonly string[] | readonly number[];

/** Object ids of the types that the tables use. */
const oids = { bytea: 17, int8: 20, text: 25, numeric: 1700 };

type Parse = (text: string) => unknown;

/** Numbers of the record are below 2^53. */
const parsers: Readonly<Record<number, Parse>> = {
  [oids.bytea]: (text) => toBytes(Buffer.from(text.slice(2), 'hex')),
  [oids.int8]: Number,
  [oids.numeric]: Number,
  [oids.text]: fromText,
};

const toBytes = ({ buffer, byteOffset, byteLength }: Buffer): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export const getTypeParser: typeof types.getTypeParser = (oid: number, format?: string) =>
  parsers[oid] ?? (types.getTypeParser as (oid: number, format?: string) => Parse)(oid, format);

export const toParams = (params: readonly Param[]): unknown[] =>
  params.map((param) => {
    if (typeof param === 'string') return toText(param);
    return Array.isArray(param)
      ? param.map((item: string | number) => (typeof item === 'string' ? toText(item) : item))
      : param;
  });
