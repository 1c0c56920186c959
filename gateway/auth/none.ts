import { anonymousOwner } from '@agent-workflow/kit/ids';
import type { Authenticate } from '../http/access.ts';

const anonymous = { owner: anonymousOwner };

/** Everybody is the anonymous owner. */
export const withoutAuthentication: Authenticate = () => anonymous;
