"""Files: tables read, spreadsheets that hold no formula, and files written whole."""
