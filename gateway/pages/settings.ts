import {
  choice,
  ConfigError,
  crossCheck,
  text,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';
import { secureAddressFault } from '../http/address-fault.ts';

const provider = (doc: string): Setting<string | undefined> => ({
  doc,
  fallback: undefined,
  read: (value) => {
    const fault = secureAddressFault(value);
    return fault === undefined ? value : { problem: fault };
  },
});

const signInSettings = {
  PLAYGROUND_OIDC_ISSUER: provider(
    'The provider of OpenID Connect at which people sign in to the playground, by its issuer; unset, they paste a token',
  ),
  PLAYGROUND_OIDC_CLIENT_ID: text(undefined, 'What the playground is called there: a public client, without a secret'),
  PLAYGROUND_OIDC_SCOPES: text(
    'openid',
    'The scopes that the playground wants, with blanks between; `offline_access` at many providers for a token that is renewed',
  ),
  PLAYGROUND_OIDC_AUDIENCE: text(
    undefined,
    'For whom the token is to be, at providers that want it named (`resource` of RFC 8707, and `audience`)',
  ),
} satisfies Settings;

/** Settings of the pages for people. */
export const pageSettings = {
  DOCS: choice(['on', 'off'], 'on', 'Whether the guides and the reference of the API are served at `/docs`'),
  PLAYGROUND: choice(['on', 'off'], 'on', 'Whether the playground is served at `/playground`'),
  ...signInSettings,
} satisfies Settings;

/** What must hold between them. */
export const pageChecks = [crossCheck(signInSettings, refuseHalf)];

function refuseHalf(values: Values<typeof signInSettings>): void {
  const {
    PLAYGROUND_OIDC_ISSUER: issuer,
    PLAYGROUND_OIDC_CLIENT_ID: clientId,
    PLAYGROUND_OIDC_SCOPES: scopes,
  } = values;
  if ((issuer === undefined) !== (clientId === undefined))
    throw new ConfigError('PLAYGROUND_OIDC_ISSUER and PLAYGROUND_OIDC_CLIENT_ID must be set together');
  if (!scopes.split(' ').includes('openid')) throw new ConfigError('PLAYGROUND_OIDC_SCOPES must have openid in it');
}
