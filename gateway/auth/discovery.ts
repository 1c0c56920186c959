import { isHere, secureAddressFault } from '../http/address-fault.ts';
import { fetchJson } from './fetched-json.ts';

/** Where an issuer describes itself (OpenID Connect Discovery 1.0 §4). */
const discoveryUrl = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;

/**
 * Reads from an issuer's own description where its keys are.
 * @throws when it cannot be read within `signal`, describes another issuer than the one that was asked for, or names an address without TLS.
 */
export async function discoverKeys(issuer: string, signal: AbortSignal): Promise<string> {
  const found = await fetchJson(discoveryUrl(issuer), 'the description of the issuer', signal);
  const { issuer: described, jwks_uri: url } = (found ?? {}) as Readonly<Record<string, unknown>>;
  if (described !== issuer) throw new Error('the description is that of another issuer');
  const fault = typeof url === 'string' ? secureAddressFault(url) : 'must be a text';
  if (typeof url !== 'string' || fault !== undefined) throw new Error(`jwks_uri of the issuer ${fault ?? ''}`);
  if (isHere(url) && !isHere(issuer)) throw new Error('jwks_uri of the issuer leads to this machine');
  return url;
}
