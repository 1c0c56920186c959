import { fileAddresses } from '../../http/access.ts';
import type { EndpointRequest } from '../../http/endpoint.ts';
import type { Services } from './services.ts';

/** The address at which a file of the caller is read without credentials. */
export type AddressOf = (fileId: string) => string;

/** Gives files of the caller addresses that are read without credentials, for ten minutes. */
export const addressesOf =
  ({ owner, origin }: Pick<EndpointRequest, 'owner' | 'origin'>, { files }: Pick<Services, 'files'>): AddressOf =>
  (fileId) =>
    `${origin()}${fileAddresses}${files.addresses.make({ owner, fileId }).token}`;
