import type { TSchema } from 'typebox';
import { endpoint as plain, type Given, type ServiceEndpoint } from '../../../common/services.ts';
import type { Described } from '../../schemas/described.ts';

/** A row of our table. */
export type DescribedEndpoint = ServiceEndpoint & Described;

/** A row with what the OpenAPI document says of it. */
export const endpoint = <P extends TSchema = TSchema, I extends TSchema = TSchema>(
  row: Given<P, I> & Described,
): DescribedEndpoint => ({ ...row, ...plain<P, I>(row) });
