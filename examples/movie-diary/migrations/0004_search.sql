CREATE TABLE search_documents (
  kind     text     NOT NULL CHECK (kind IN ('film', 'person')),
  id       uuid     NOT NULL,
  title    text     NOT NULL,
  document tsvector NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX search_documents_document ON search_documents USING gin (document);
