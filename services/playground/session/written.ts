/** The texts of replies, for as long as what was read of them is in use. */
const texts = new WeakMap<object, string>();

/**
 * A response that keeps its text: a number or a double field of it may be more than a value can hold. What is read of it is
 * `data` of the JSON.
 */
export function keepingText(response: Response): Response {
  const read = async (): Promise<unknown> => {
    const text = await response.text();
    const value = JSON.parse(text) as unknown;
    const data: unknown = typeof value === 'object' && value !== null && 'data' in value ? value.data : undefined;
    if (typeof data === 'object' && data !== null) texts.set(data, text);
    return value;
  };
  return Object.defineProperty(response, 'json', { value: read });
}

/** The reply that this is the `data` of, as it was written; `undefined` for what is no such data. */
export const writtenOf = (data: object): string | undefined => texts.get(data);
