/** Shows the OpenAPI document. Requests that readers try go to this origin alone. */
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // Without it the document's address would be sent to a service that checks documents.
  validatorUrl: null,
  // Its numbers can be read on their background; those of the usual theme cannot.
  syntaxHighlight: { theme: 'obsidian' },
  plugins: [withPlainNames, withoutServers],
});

/** The document names one server, the one that gave it: there is nothing to choose. */
function withoutServers() {
  return { components: { ServersContainer: () => null } };
}

/** The path of an operation is a text: as a link it would stand inside the button that opens the operation. */
function withPlainNames({ React }) {
  return { components: { DeepLink: ({ text }) => React.createElement('span', null, text) } };
}

/** What Swagger UI leaves out of its markup: names of its parts, levels of its headings, and the keyboard's way into what scrolls. */
const amendments = [
  ['.information-container section', { 'aria-label': 'About this API' }],
  ['.scheme-container > section', { 'aria-label': 'Authentication' }],
  ['.modal-ux .close-modal', { 'aria-label': 'Close the dialog' }],
  ['#auth-bearer-value', { 'aria-label': 'Bearer token' }],
  ['[aria-label="Apply credentials"]', { 'aria-label': 'Authorize' }],
  ['[aria-label="Remove authorization"]', { 'aria-label': 'Logout' }],
  ['h3.opblock-tag, .models > h4, .modal-ux h3', { 'aria-level': '2' }],
  ['.opblock h4, .modal-ux h4', { 'aria-level': '3' }],
  ['.opblock h5, .modal-ux h6', { 'aria-level': '4' }],
  ['textarea.body-param__text', { 'aria-label': 'Body of the request' }],
  ['pre.microlight', { tabindex: '0' }],
];

function amend() {
  for (const [selector, attributes] of amendments)
    for (const element of document.querySelectorAll(selector))
      for (const [name, value] of Object.entries(attributes))
        if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

new MutationObserver(amend).observe(document.getElementById('reference'), { childList: true, subtree: true });
