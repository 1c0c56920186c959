/** A form whose fields are files of these texts. */
export function toForm(fields: Readonly<Record<string, string>>, filename = 'hello.txt'): FormData {
  const form = new FormData();
  for (const [name, text] of Object.entries(fields))
    form.append(name, new File([text], filename, { type: 'text/plain' }));
  return form;
}

/** Uploads a text and gives the id of the file. @throws Error with the reply when it is refused. */
export async function uploadTo(
  url: string,
  text: string,
  filename: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const body = toForm({ file: text }, filename);
  const response = await fetch(`${url}/v1/files/upload`, { method: 'POST', headers, body });
  const reply = (await response.json()) as { readonly data?: { readonly file_id: string } };
  if (reply.data === undefined) throw new Error(`${String(response.status)} ${JSON.stringify(reply)}`);
  return reply.data.file_id;
}
