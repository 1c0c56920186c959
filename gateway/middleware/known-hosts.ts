import { isIP } from 'node:net';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Middleware } from '../http/context.ts';
import { hostOf } from '../http/host.ts';
import type { BrowserConfig } from './settings.ts';

interface KnownHostsOptions extends Pick<BrowserConfig, 'ALLOWED_HOSTS'> {
  /** Whether everyone on this machine is let in, and nobody else. */
  readonly isLocal: boolean;
}

/**
 * Refuses requests whose host is a name that the gateway does not have; `undefined` where every name will do. The owner of a web page can let
 * the page's own name lead to the loopback address of the reader (DNS rebinding), and the browser then takes the gateway for the page's
 * origin. So where the address alone lets a caller in, a name that anybody can register must be listed.
 * @throws PermissionDenied
 */
export function knownHosts({ ALLOWED_HOSTS: listed, isLocal }: KnownHostsOptions): Middleware | undefined {
  if (listed === undefined ? !isLocal : listed.includes('*')) return undefined;
  const names = new Set(listed);
  return (ctx, next) => {
    const name = nameOf(hostOf(ctx));
    if (!names.has(name) && !isOfNobody(name)) throw notKnown();
    return next() as Promise<unknown>;
  };
}

/** The name of a host, without the port and in small letters. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');

/** Top-level domains under which nobody can register a name: RFC 6761, and the one that ICANN keeps for private use. */
const reserved = ['.localhost', '.test', '.internal'];

/** Whether no owner of a web page can have this name: an address, a name without a domain such as `localhost`, a reserved domain, none at all. */
function isOfNobody(name: string): boolean {
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  return /^[\w.-]*$/.test(name) && (!name.includes('.') || reserved.some((domain) => name.endsWith(domain)));
}

const notKnown = (): ServiceError =>
  new ServiceError(
    'PermissionDenied',
    'this gateway is not known by the name in `Host`; list the name in ALLOWED_HOSTS, or set up authentication',
  );
