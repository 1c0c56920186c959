/** Whether a text is base64, in either alphabet. */
export const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_-]*={0,2}$/.test(text);
