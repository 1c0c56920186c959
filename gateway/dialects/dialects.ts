import type { Dialects } from '../http/dialect.ts';
import type { ServiceEndpoint } from './common/services.ts';
import { v1 } from './v1/dialect.ts';

/** The dialects in which callers may speak. A new one is a folder beside this file, and its name here. */
export const dialects: Dialects<ServiceEndpoint> = [v1];
