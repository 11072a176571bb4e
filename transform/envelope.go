package transform

// Problem is one thing wrong with a request, named after the input it is in.
type Problem struct {
	Field   string
	Message string
}

// AppendSuccessHead appends the envelope of a success (contract part 1) up to its
// data. The caller appends one JSON value and then calls [AppendSuccessTail].
func AppendSuccessHead(dst []byte) []byte {
	return append(dst, `{"status":"Success","message":"Success","data":`...)
}

// AppendSuccessTail ends what [AppendSuccessHead] began.
func AppendSuccessTail(dst []byte) []byte {
	return append(dst, '}')
}

// AppendError appends the envelope of an error (contract parts 1 and 7). data is null,
// or with more than one problem {"errors":[{"field":…,"message":…},…]}.
func AppendError(dst []byte, message string, problems []Problem) []byte {
	dst = append(dst, `{"status":"Error","message":`...)
	dst = AppendString(dst, message)
	if len(problems) < 2 {
		return append(dst, `,"data":null}`...)
	}
	dst = append(dst, `,"data":{"errors":[`...)
	for i, p := range problems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"field":`...)
		dst = AppendString(dst, p.Field)
		dst = append(dst, `,"message":`...)
		dst = AppendString(dst, p.Message)
		dst = append(dst, '}')
	}
	return append(dst, `]}}`...)
}
