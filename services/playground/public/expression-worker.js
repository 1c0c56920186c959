// Evaluates one expression and sends back its value as JSON. The policy of this file's own response lets it do nothing else:
// no request, no import. The page ends the worker when the time is over.
const maxLength = 256 * 1024;

const send = (message) => self.postMessage(message);

self.onmessage = async ({ data }) => {
  try {
    const value = await (0, eval)(`(${data}\n)`);
    const json = JSON.stringify(value);
    if (json !== undefined && json.length > maxLength)
      throw new Error(`the value has ${json.length} characters; at most ${maxLength} are sent`);
    send({ json });
  } catch (error) {
    send({ error: String(error) });
  }
};
