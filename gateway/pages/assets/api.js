/** Shows the OpenAPI document. Requests that readers try go to this origin alone. */
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // Without it the document's address would be sent to a service that checks documents.
  validatorUrl: null,
});
