import type { TSchema } from 'typebox';
import type { Loc } from '../../../http/fields.ts';
import type { Fields } from '../messages/content.ts';
import { refusalWith, unsupported } from '../replies/refusal.ts';

/** What a request asks of a model, for the nodes of the agent; `undefined` where it asks for nothing. */
export function settingsOf(input: Fields, names: readonly string[]): Fields | undefined {
  const given = names.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]] as const]));
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** @throws Invalid naming the first field that this API does not have */
export function refuseUnknown(input: Fields, schema: TSchema & { readonly properties: object }): void {
  const unknown = Object.keys(input).find((name) => !Object.hasOwn(schema.properties, name));
  if (unknown === undefined) return;
  const name = unknown.slice(0, 64);
  throw refusalWith('Invalid', 'unknown_parameter', `Unknown parameter: '${name}'.`, [name]);
}

/** @throws Invalid for a tier that is none here */
export function refuseTier(tier: string | undefined): void {
  if (tier !== undefined && tier !== 'auto' && tier !== 'default')
    throw unsupported(['service_tier'], 'there is one tier');
}

/** @throws Invalid naming the first of the fields that is given */
export function refuseGiven(input: Fields, reasons: Readonly<Record<string, string>>): void {
  for (const [name, why] of Object.entries(reasons))
    if (isAsked(input[name])) throw unsupported([name] satisfies Loc, why);
}

/** Whether a value asks for something. */
function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
