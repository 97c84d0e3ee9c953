package host

import "codemode/catalog"

// ResultsFile is the declaration of the guest's results, which cells find with API.list beside the files of the catalog
// ([catalog.View.Files]).
func ResultsFile() catalog.File {
	return catalog.File{Path: resultsFile.Path, Description: resultsFile.Description, Content: resultsFile.Content, Bytes: resultsFile.Bytes}
}
